import fc from 'fast-check';
import { catalogue, Fault } from '../../../src/kernel';
import { dialects } from '../../../src/protocol';
import { complaint, convert, tryConvert } from './convert';
import { bodies } from './request-bodies';
import { type Json, names } from './transcripts';

const pairs = names.flatMap((from) => names.map((to) => [from, to] as const));

describe.each(names)('%s', (dialect) => {
  test('what it knows comes back as it was, and nothing is counted as lost', () => {
    fc.assert(
      fc.property(bodies[dialect], (body) => {
        const { body: again, dropped } = convert(dialect, dialect, body);
        expect(again).toEqual(body);
        expect(dropped).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });

  test('a body with anything wrong in it is read, or refused with the place and what was expected', () => {
    fc.assert(
      fc.property(
        bodies[dialect],
        fc.array(fc.nat(), { minLength: 1, maxLength: 3 }),
        junk,
        (body, picks, value) => {
          const broken = structuredClone(body);
          for (const pick of picks) damage(broken, pick, value);
          const read = dialects[dialect].decodeRequest(broken);
          // A body that passes as a request must not make an encoder stumble either: only faults come back as
          // values.
          if (read.ok) return names.forEach((to) => dialects[to].encodeRequest(read.value));
          expect(read.error).toBeInstanceOf(Fault);
          expect(['invalid_request', 'invalid_input', 'unsupported_parameter']).toContain(read.error.code);
          expect(read.error.status).toBe(400);
          expect(typeof read.error.options.param).toBe('string');
          expect(read.error.humanMessage.length).toBeGreaterThan(10);
        },
      ),
      { numRuns: 400 },
    );
  });

  test.each([undefined, null, 1, 'x', [], true])('a body that is no object: %j', (body) => {
    const read = dialects[dialect].decodeRequest(body);
    expect(read).toMatchObject({ ok: false, error: { code: 'invalid_request' } });
  });
});

const junk = fc.constantFrom<unknown>(null, 1, -1, 'x', [], {}, [null], true, { type: 'constructor' }, [
  { type: 1 },
]);

/** Puts the value in the place of some node of the tree. */
function damage(root: Json, pick: number, value: unknown): void {
  const places: { holder: Json; name: string }[] = [];
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const name of Object.keys(node)) {
      places.push({ holder: node as Json, name });
      walk((node as Json)[name]);
    }
  };
  walk(root);
  const { holder, name } = places[pick % places.length]!;
  holder[name] = structuredClone(value);
}

describe.each(pairs.filter(([from, to]) => from !== to))('%s to %s', (from, to) => {
  test('is taken by a strict supplier, or refused by name', () => {
    let carried = 0;
    fc.assert(
      fc.property(bodies[from], (body) => {
        const encoded = tryConvert(from, to, body);
        if (encoded instanceof Fault) {
          expect(encoded.code).toBe('unsupported_parameter');
          expect(typeof encoded.options.param).toBe('string');
          return;
        }
        carried += 1;
        expect(inconsequential(complaint(to, encoded.body))).toBeUndefined();
      }),
      // Between some dialects only one body in nine is not refused.
      { numRuns: 1_000 },
    );
    expect(carried).toBeGreaterThan(10);
  });
});

/** Generated bodies choose tools they do not have, repeat names and mark too much; the translation keeps that as it is. */
function inconsequential(message: string | undefined): string | undefined {
  const own = /Tool choice|tool_choice: Tool|Tool names must be unique|Invalid `signature`|cache_control/;
  return message !== undefined && own.test(message) ? undefined : message;
}

test('every code that a request can be refused with is in the catalogue', () => {
  for (const code of ['invalid_request', 'invalid_input', 'unsupported_parameter'] as const) {
    expect(catalogue.get(code)?.status).toBe(400);
  }
});
