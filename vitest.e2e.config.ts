import { defineConfig } from 'vitest/config';

/** Files that wait most of their time, so that they can be run side by side. */
const WAITING = ['run', 'run_stopped', 'mute', 'proxy/trouble'].map((name) =>
  `test/e2e/${name}.e2e.ts`
);

/** Whole servers, started and killed: with time to spare, the busy ones one file at a time. */
const common = {
  setupFiles: ['test/e2e/canary_setup.ts'],
  testTimeout: 60_000,
  hookTimeout: 60_000,
};

export default defineConfig({
  oxc: { jsx: { runtime: 'automatic', importSource: 'hono/jsx' } },
  test: {
    projects: [
      {
        extends: true,
        test: {
          ...common,
          name: 'waiting',
          include: WAITING,
          maxWorkers: 3,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          ...common,
          name: 'busy',
          include: ['test/e2e/**/*.e2e.ts'],
          exclude: WAITING,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
