/**
 * Where a pool's requests are forwarded, and the credentials that they carry. The value of a
 * credential goes in and never comes out.
 */
import type { Change, Shown } from './change_form.tsx';
import { ChangeForm } from './change_form.tsx';
import type { Field } from './fields.tsx';
import { Fields, ms, OnOff } from './fields.tsx';
import { Time } from './layout.tsx';
import type { Json } from './shapes.ts';
import { at, text } from './shapes.ts';

const TO: readonly Field[] = [
  {
    name: 'upstream.url:text',
    label: 'URL',
    input: 'text',
    about: 'http or https; the path of a request is put after its path.',
  },
  {
    name: 'upstream.hosts:lines',
    label: 'Further hosts of this pool',
    input: 'lines',
    about: 'One host name a line, at most 64: requests to them are the pool’s too.',
  },
  {
    ...ms('Connect timeout', 'upstream.connectTimeoutMs', [1, 600_000], 'Then 504.'),
    fallback: 10_000,
  },
  {
    ...ms(
      'Stall timeout',
      'upstream.stallTimeoutMs',
      [1_000, 86_400_000],
      'Without a byte for so long a request is ended.',
    ),
    fallback: 60_000,
  },
  {
    name: 'upstream.requestTimeoutMs:int?',
    label: 'Request timeout (ms)',
    min: 1_000,
    max: 86_400_000,
    unit: 'ms',
    about: 'For a whole request; left empty: no bound.',
    fallback: 600_000,
  },
  {
    name: 'upstream.preserveHost:bool',
    label: 'Host header',
    options: [['false', 'the upstream’s'], ['true', 'the caller’s']],
    about: 'What the upstream is told.',
  },
  {
    name: 'upstream.forwarded:bool',
    label: 'Caller’s address',
    options: [['false', 'not told'], ['true', 'told']],
    about: 'In X-Forwarded-For and its like.',
  },
];

export const UPSTREAM: Change = {
  path: 'upstream',
  label: 'Save upstream',
  rule: 'upstream',
  draw: ({ spec, credentials }) => (
    <>
      <OnOff path='upstream' isOn={spec['upstream'] !== null} label='Forward requests' />
      <p class='effect'>
        Requests that come from now on go there; those under way end where they are. Switched off,
        the credentials are forgotten, and requests to the pool’s host get 501.
      </p>
      <Fields fields={TO} spec={spec} />
      <Credentials spec={spec} states={credentials} />
    </>
  ),
};

export function UpstreamForm({ shown }: { shown: Shown }) {
  return (
    <section id='upstream' aria-label='Upstream' class='card'>
      <h2>Upstream and credentials</h2>
      <ChangeForm name='upstream' change={UPSTREAM} shown={shown} />
    </section>
  );
}

function Credentials({ spec, states }: { spec: Json; states: readonly Json[] }) {
  const credentials = (at(spec, 'upstream.credentials') ?? []) as readonly Json[];
  return (
    <fieldset class='credentials'>
      <legend>Credentials</legend>
      <p>
        Each takes the place of the caller’s header of its name; of several, the one that was used
        least recently is taken. The value is the whole header, Bearer sk-… say; it is never shown,
        and left empty, what is stored under its name stays.
      </p>
      {[...credentials, null].map((credential, index) => (
        <Credential credential={credential} index={index} state={states[index]} />
      ))}
      <input type='hidden' name='upstream.credentials:list' value='' />
    </fieldset>
  );
}

function Credential(
  { credential, index, state }: { credential: Json | null; index: number; state: Json | undefined },
) {
  const path = `upstream.credentials.${index}`;
  const title = credential === null ? 'New credential' : `Credential ${String(credential['name'])}`;
  return (
    <fieldset class='credential'>
      <legend>{title}</legend>
      {state?.['coolingUntil'] ? <Cooling state={state} /> : null}
      <div class='grid fields'>
        <label>
          Name
          <input
            name={`${path}.name:text`}
            value={credential === null ? '' : String(credential['name'])}
            maxlength={64}
            autocomplete='off'
          />
        </label>
        <label>
          Header
          <input
            name={`${path}.header:text`}
            value={credential === null ? '' : String(credential['header'])}
            placeholder='authorization'
            maxlength={128}
            autocomplete='off'
          />
        </label>
        <label>
          Value
          <input
            type='password'
            name={`${path}.value:secret`}
            maxlength={8192}
            placeholder={credential === null ? 'Bearer sk-…' : 'stored; empty keeps it'}
            autocomplete='new-password'
          />
        </label>
        {credential === null ? null : (
          <label class='check'>
            <input type='checkbox' name={`${path}:drop`} value='true' /> Remove it
          </label>
        )}
      </div>
    </fieldset>
  );
}

/** Why a credential takes no turn just now. */
function Cooling({ state }: { state: Json }) {
  return (
    <p class='problem'>
      Put aside until <Time ms={state['coolingUntil']} />: the upstream answered{' '}
      {text(state['coolingFor'])}.
    </p>
  );
}
