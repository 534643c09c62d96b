import { defineConfig } from 'vitest/config';

/** The time-out only ends a test that hangs: a machine that does other work must not fail one. */
export default defineConfig({
  oxc: { jsx: { runtime: 'automatic', importSource: 'hono/jsx' } },
  test: {
    testTimeout: 30_000,
    // By default one core is left idle: half of a machine that has two.
    maxWorkers: '100%',
    include: ['test/**/*.test.ts'],
    exclude: ['test/e2e/**', 'node_modules/**'],
  },
});
