import { defineConfig } from 'vitest/config';

/** Files that leave the machine idle for a part of their time can run side by side, so many each. */
const SIDE_BY_SIDE: readonly { name: string; maxWorkers: number; files: readonly string[] }[] = [
  {
    name: 'waiting',
    maxWorkers: 3,
    files: ['run', 'run_stopped', 'mute', 'unsaid', 'client', 'proxy/trouble'],
  },
  {
    name: 'browsing',
    maxWorkers: 2,
    files: ['page', 'page_tasks', 'page_access', 'page_saved', 'page_elsewhere'],
  },
  {
    name: 'starting',
    maxWorkers: 2,
    files: [
      'console',
      'life',
      'restore',
      'access',
      'rekey',
      'secrets',
      'openapi',
      'exit',
      'store',
      'tls',
      'wire',
      'owner',
      'other_server',
      'proxy/life',
      'proxy/stop',
      'proxy/wrong_key',
    ],
  },
];

const pathOf = (file: string) => `test/e2e/${file}.e2e.ts`;

/** Whole servers, started and killed: with time to spare. */
const common = {
  setupFiles: ['test/e2e/canary_setup.ts'],
  testTimeout: 60_000,
  hookTimeout: 60_000,
};

export default defineConfig({
  oxc: { jsx: { runtime: 'automatic', importSource: 'hono/jsx' } },
  test: {
    projects: [
      ...SIDE_BY_SIDE.map(({ name, maxWorkers, files }, groupOrder) => ({
        extends: true as const,
        test: { ...common, name, include: files.map(pathOf), maxWorkers, sequence: { groupOrder } },
      })),
      {
        extends: true,
        test: {
          ...common,
          name: 'busy',
          include: ['test/e2e/**/*.e2e.ts'],
          exclude: SIDE_BY_SIDE.flatMap(({ files }) => files.map(pathOf)),
          fileParallelism: false,
          sequence: { groupOrder: SIDE_BY_SIDE.length },
        },
      },
    ],
  },
});
