/**
 * Writes deploy/config.schema.json, the JSON Schema of the `--config` file, from the schemas that
 * check it. `npm run schema` runs it; a test holds the written file to it.
 */
import { writeFileSync } from 'node:fs';
import { configSchema } from '../src/cli/pool_file.ts';

writeFileSync('deploy/config.schema.json', `${JSON.stringify(configSchema(), null, 2)}\n`);
