/**
 * Answers that an upstream gives before it has the request's body: what comes of that body later is
 * never taken for something else, and holds nobody up.
 */
import { describe, expect, it } from 'vitest';
import { plain, RawCaller } from './raw.ts';
import { echoStage, HOST } from './stage.ts';

const { server, upstream } = echoStage();

describe('an answer before the body', () => {
  it.each(['', '0123'])('leaves the next request whole, with %j sent of it', async (first) => {
    const body = '0123456789';
    const caller = new RawCaller(server.port).send(
      `POST /early HTTP/1.1\r\n${HOST}content-length: ${body.length}\r\n\r\n${first}`,
    );
    await caller.until(/\r\n\r\nok$/);
    upstream.play = (socket) => void socket.write(plain('next'));
    caller.send(`${body.slice(first.length)}GET /next HTTP/1.1\r\n${HOST}\r\n`);
    await caller.until(/\r\n\r\nnext$/);
    caller.close();
    const lines = upstream.requests.map(({ head }) => head.split('\r\n')[0]);
    expect(lines).toEqual(['POST /base/early HTTP/1.1', 'GET /base/next HTTP/1.1']);
    expect(await server.capacityWithin('echo', 4)).toBe(4);
  });
});
