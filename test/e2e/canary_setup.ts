/**
 * Set up before each end-to-end test file: answers that its tests fetch are searched for secrets,
 * and what the search found by the end of the file fails it. Hooks registered first run last.
 */
import { afterAll, expect } from 'vitest';
import { findings, searchAnswer } from './canary.ts';

const LENGTH_MAX = 1_000_000;
const plainFetch = globalThis.fetch;

globalThis.fetch = async (input, init) => {
  const answer = await plainFetch(input, init);
  const url = new URL(input instanceof Request ? input.url : input);
  const length = Number(answer.headers.get('content-length') ?? NaN);
  const isOwn = /^\/(admin|pools|metrics|healthz|readyz|openapi)/.test(url.pathname) &&
    (url.hostname === '127.0.0.1' || url.hostname === 'localhost');
  if (!isOwn || !(length <= LENGTH_MAX)) return answer;
  const text = await answer.clone().text();
  const headers = JSON.stringify([...answer.headers]);
  searchAnswer(init?.method ?? 'GET', url.pathname, `${headers}\n${text}`);
  return answer;
};

afterAll(() => {
  expect(findings, 'secrets or slotIds in what a server printed, answered or stored').toEqual([]);
});
