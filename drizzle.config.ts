/**
 * Tells drizzle-kit where the schema is and where its migrations go. It is used at the desk alone:
 * the server runs the committed migrations itself.
 */
import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'sqlite',
  schema: './db/schema.ts',
  out: './db/migrations',
});
