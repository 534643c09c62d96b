/** What a person reads when the runtime fails: the reason, and none of the runtime's own flags. */
import { describe, expect, it } from 'vitest';
import { whyUnreached } from '../../src/cli/unreached.ts';
import { messageOf } from '../../src/log.ts';
import { storeError } from '../../src/store/libsql/store_error.ts';

describe('messageOf', () => {
  it.each([
    ['Requires all access to "/proc/x", run again with the --allow-all flag', '/proc/x'],
    [
      'Requires run access to "sh", specify the required permissions during compilation using ' +
      '`deno compile --allow-run`',
      'sh',
    ],
  ])('of what is not permitted names no flag of the runtime', (message, name) => {
    expect(messageOf(new Error(message))).toBe(`no access to "${name}"`);
    expect(storeError(new Error(message)).message).toBe(
      `The database could not be read or written: no access to "${name}".`,
    );
  });

  it('of a whole kind says so', () => {
    expect(messageOf(new Error('Requires run access, run again with the --allow-run flag')))
      .toBe('no run access');
    expect(messageOf(new Error('Requires care'))).toBe('Requires care');
  });
});

describe('whyUnreached', () => {
  const failed = (reason: string) =>
    whyUnreached(
      new TypeError('fetch failed', {
        cause: new Error(
          `error sending request for url (https://h/): client error (Connect): ${reason}`,
        ),
      }),
    );

  it('is what the runtime hides behind "fetch failed"', () => {
    expect(failed('tcp connect error: Connection refused (os error 111)'))
      .toBe('tcp connect error: Connection refused (os error 111)');
    expect(whyUnreached(new Error('Signal timed out.'))).toBe('Signal timed out.');
  });

  it('tells of a certificate what is wrong, and how to trust its issuer', () => {
    expect(failed('invalid peer certificate: UnknownIssuer')).toContain('DENO_CERT');
    expect(failed('invalid peer certificate: Expired'))
      .toBe('its certificate does not pass: Expired');
    const authority = failed('invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))');
    expect(authority).toMatch(
      /^its certificate is an authority's own, self-signed say; .*DENO_CERT/,
    );
    expect(authority).not.toContain('EndEntity');
  });

  it('tells where the server may speak TLS, or may not', () => {
    expect(failed('invalid HTTP version parsed'))
      .toBe('invalid HTTP version parsed; it may speak TLS: try https in NTHBOUNCER_URL');
    expect(failed('received corrupt message of type InvalidContentType')).toContain('try http in');
  });
});
