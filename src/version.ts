/**
 * The program's version, from package.json alone, and the schema's, from the migrations.
 */
import migrations from '../db/migrations/meta/_journal.json' with { type: 'json' };
import packageFile from '../package.json' with { type: 'json' };

export const VERSION: string = packageFile.version;

/** How many migrations a database of this version has been through. */
export const SCHEMA_VERSION: number = migrations.entries.length;
