import { defineConfig } from 'vitest/config';

/** Whole servers, started and killed: one file at a time, and with time to spare. */
export default defineConfig({
  oxc: { jsx: { runtime: 'automatic', importSource: 'hono/jsx' } },
  test: {
    include: ['test/e2e/**/*.e2e.ts'],
    setupFiles: ['test/e2e/canary_setup.ts'],
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
