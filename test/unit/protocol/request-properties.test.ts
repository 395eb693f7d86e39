import fc from 'fast-check';
import { catalogue, Fault } from '../../../src/kernel';
import { dialects } from '../../../src/protocol';
import { complaint, convert, tryConvert } from './convert';
import { bodies } from './request-bodies';
import { type Json, names } from './transcripts';

const pairs = names.flatMap((from) => names.map((to) => [from, to] as const));

describe.each(names)('Request decoder of %s', (dialect) => {
  test('round-trips every supported body without losses', () => {
    fc.assert(
      fc.property(bodies[dialect], (body) => {
        const { body: again, dropped } = convert(dialect, dialect, body);
        expect(again).toEqual(body);
        expect(dropped).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });

  test('accepts or rejects a damaged body with the path and the expected value', () => {
    fc.assert(
      fc.property(
        bodies[dialect],
        fc.array(fc.nat(), { minLength: 1, maxLength: 3 }),
        junk,
        (body, picks, value) => {
          const brokenBody = structuredClone(body);
          for (const pick of picks) damage(brokenBody, pick, value);
          const decoded = dialects[dialect].decodeRequest(brokenBody);
          // An accepted body must not crash an encoder either: only faults are returned as values.
          if (decoded.ok) return names.forEach((to) => dialects[to].encodeRequest(decoded.value));
          expect(decoded.error).toBeInstanceOf(Fault);
          expect(['invalid_request', 'invalid_input', 'unsupported_parameter']).toContain(decoded.error.code);
          expect(decoded.error.status).toBe(400);
          expect(typeof decoded.error.options.param).toBe('string');
          expect(decoded.error.humanMessage.length).toBeGreaterThan(10);
        },
      ),
      { numRuns: 400 },
    );
  });

  test.each([undefined, null, 1, 'x', [], true])('rejects a body that is not an object: %j', (body) => {
    const decoded = dialects[dialect].decodeRequest(body);
    expect(decoded).toMatchObject({ ok: false, error: { code: 'invalid_request' } });
  });
});

const junk = fc.constantFrom<unknown>(null, 1, -1, 'x', [], {}, [null], true, { type: 'constructor' }, [
  { type: 1 },
]);

/** Replaces a random node of the tree by the value. */
function damage(root: Json, pick: number, value: unknown): void {
  const slots: { holder: Json; name: string }[] = [];
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const name of Object.keys(node)) {
      slots.push({ holder: node as Json, name });
      walk((node as Json)[name]);
    }
  };
  walk(root);
  const { holder, name } = slots[pick % slots.length]!;
  holder[name] = structuredClone(value);
}

describe.each(pairs.filter(([from, to]) => from !== to))('Conversion of %s to %s', (from, to) => {
  test('is accepted by a strict supplier or rejected by name', () => {
    let acceptedCount = 0;
    fc.assert(
      fc.property(bodies[from], (body) => {
        const encoded = tryConvert(from, to, body);
        if (encoded instanceof Fault) {
          expect(encoded.code).toBe('unsupported_parameter');
          expect(typeof encoded.options.param).toBe('string');
          return;
        }
        acceptedCount += 1;
        expect(significantComplaint(complaint(to, encoded.body))).toBeUndefined();
      }),
      // Between some dialects, only one body in nine is accepted.
      { numRuns: 1_000 },
    );
    expect(acceptedCount).toBeGreaterThan(10);
  });
});

/** Generated bodies choose missing tools, repeat names and set too many cache marks; conversion keeps such errors. */
function significantComplaint(message: string | undefined): string | undefined {
  const expectedComplaint =
    /Tool choice|tool_choice: Tool|Tool names must be unique|Invalid `signature`|cache_control/;
  return message !== undefined && expectedComplaint.test(message) ? undefined : message;
}

test('every code of a rejected request is in the catalogue', () => {
  for (const code of ['invalid_request', 'invalid_input', 'unsupported_parameter'] as const) {
    expect(catalogue.get(code)?.status).toBe(400);
  }
});
