import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Fault, usageOf } from '../../../src/kernel';
import { type CanonicalEvent, collect, type DialectName, dialects } from '../../../src/protocol';
import { laneMark, unsealReasoning } from '../../../src/protocol/canonical';
import { comparable } from './compare';
import { complaint, convert, type TargetName, tryConvert } from './convert';
import { type AnswerProbe, answerProbes } from './fidelity-answers';
import { probes } from './fidelity-probes';
import { bases, type Probe } from './fidelity-shapes';
import { decode, encode, names, options } from './transcripts';

const pairs = names.flatMap((from) => names.filter((to) => to !== from).map((to) => [from, to] as const));
const requestPairs = [...pairs, ...names.map((from) => [from, 'gemini'] as const)];
const page = join(__dirname, '../../../docs/fidelity.md');

const joinUnique = (reasons: readonly string[]): string => [...new Set(reasons)].join('; ');

function requestOutcome(probe: Probe, from: DialectName, to: TargetName): string {
  const fields = probe.fields[from];
  if (!fields) return '–';
  const target = { developerRole: false };
  const encoded = tryConvert(from, to, { ...bases[from], ...fields }, target);
  if (encoded instanceof Fault) return `refused (\`${encoded.code}\`)`;
  const rejection = to === 'gemini' ? undefined : complaint(to, encoded.body);
  if (rejection !== undefined) throw new Error(`${probe.feature}, ${from} to ${to}: ${rejection}`);
  const droppedReasons = encoded.dropped.filter(({ loss }) => loss === 'dropped').map(({ reason }) => reason);
  const approximatedReasons = encoded.dropped
    .filter(({ loss }) => loss === 'approximated')
    .map(({ reason }) => reason);
  if (approximatedReasons.length > 0)
    return `approximated (${joinUnique(approximatedReasons)})${droppedReasons.length > 0 ? `, rest dropped (${joinUnique(droppedReasons)})` : ''}`;
  if (droppedReasons.length > 0) return `dropped (${joinUnique(droppedReasons)})`;
  if (probe.fulfilled) return 'fulfilled';
  const bodyWithoutFeature = convert(from, to, bases[from], target).body;
  // A change that is neither counted nor visible would be a silent loss.
  if (JSON.stringify(bodyWithoutFeature) === JSON.stringify(encoded.body))
    throw new Error(`${probe.feature}: lost from ${from} to ${to}`);
  return 'carried';
}

function answerOutcome(probe: AnswerProbe, from: DialectName, to: DialectName): string {
  if (!probe.dialects.includes(from)) return '–';
  const events: CanonicalEvent[] = [
    { type: 'message-start', id: 'x', model: 'm' },
    ...probe.events(from),
    { type: 'usage-update', usage: usageOf({ inputTokens: 3, outputTokens: 2 }) },
    { type: 'message-end', finish: { unified: 'stop', raw: null }, ...probe.end },
  ];
  const encoder = dialects[to].streamEncoder({ ...options, lane: laneMark('a lane') });
  const received = collect(decode(to, [Buffer.from(encode(encoder, events))]));
  const original = collect(events);
  if (!received.ok || !original.ok) throw new Error(`${probe.feature}: an answer became a failure`);
  if (encoder.dropped.length > 0)
    return `dropped (${joinUnique(encoder.dropped.map(({ reason }) => reason))})`;
  const [was, now] = [comparable(original.value), unseal(comparable(received.value), to)];
  const changed = ['text', 'reasoning', 'refusal', 'signatures', 'calls', 'stopSequence'].filter(
    (name) => JSON.stringify(was[name]) !== JSON.stringify(now[name]),
  );
  if (changed.length > 0)
    return `approximated (read as ${changed.filter((name) => now[name] !== '').join(', ')})`;
  const [expectedFinish, actualFinish] = [original.value.finish.unified, received.value.finish.unified];
  return expectedFinish === actualFinish ? 'carried' : `approximated (read as ${actualFinish})`;
}

/** Removes the seal, as the lane that signed the content would. */
const unseal = (answer: ReturnType<typeof comparable>, dialect: DialectName): typeof answer => ({
  ...answer,
  signatures: (answer.signatures as string[]).flatMap(
    (signature) => unsealReasoning(signature, answer.reasoning as string, dialect).signature ?? [],
  ),
});

function renderTable<To extends TargetName>(
  pairs: readonly (readonly [DialectName, To])[],
  rows: readonly (readonly [string, (from: DialectName, to: To) => string])[],
): string {
  const head = ['Feature', ...pairs.map(([from, to]) => `${from} → ${to}`)];
  const body = rows.map(([feature, outcome]) => [feature, ...pairs.map(([from, to]) => outcome(from, to))]);
  return [head, head.map(() => '---'), ...body].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

const text = (): string => `# What survives translation

A model that speaks the caller's dialect gets the caller's bytes, and the caller gets the model's, but for the name of the
model, the \`svc\` object and what its supplier leaves out ([api.md](api.md#streams)). This page is about
the other case: a caller of one dialect and a model behind another. Gemini is a dialect of suppliers only. It is computed by
\`test/unit/protocol/fidelity.test.ts\`, which sends one probe a feature through the code and fails when this page says
anything else; with \`WRITE_FIDELITY=1\` it writes the page.

- **carried**: it arrives as what it is.
- **approximated**: it arrives as the nearest thing, which is named. Counted, and recorded with the request. A lowered
  value is also named in \`x-svc-dropped\`, with the value in the request (\`reasoning_effort.max\`).
- **dropped**: the answer is worth having without it, so it is left out. Counted, recorded with the request, and named
  in \`x-svc-dropped\` ([api.md](api.md)).
- **refused**: without it the answer would be another one, so the request ends with that code and names the field.
- **fulfilled**: it asks for what happens anyway.
- **–**: the caller's dialect has no such thing.

Signed reasoning is of use to its author alone: it comes back to the lane that signed it, and no other lane gets it
([suppliers.md](suppliers.md#reasoning-of-earlier-turns)).

## Requests

${renderTable(
  requestPairs,
  probes.map((probe) => [probe.feature, (from, to) => requestOutcome(probe, from, to)] as const),
)}

## Answers

From the model's dialect to the caller's, streamed or whole.

${renderTable(
  pairs,
  answerProbes.map((probe) => [probe.feature, (from, to) => answerOutcome(probe, from, to)] as const),
)}
`;

/** With `WRITE_FIDELITY=1` the page is rewritten instead. */
test('docs/fidelity.md matches the behaviour of the code', () => {
  if (process.env.WRITE_FIDELITY === '1') writeFileSync(page, text());
  expect(readFileSync(page, 'utf8')).toBe(text());
});
