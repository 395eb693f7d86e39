import fc from 'fast-check';
import {
  JsonText,
  printJsonObjectInSlices,
  printedJsonObject,
  printJson,
  printJsonInSlices,
} from '../../../src/kernel';

const printSliced = async (value: unknown): Promise<string> => (await printJsonInSlices(value)).toString();

test('sliced printing equals printing in one go', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (value) => {
      expect(await printSliced(value)).toBe(printJson(value));
    }),
    { numRuns: 300 },
  );
});

test.each([
  ['what JSON has no word for', { a: undefined, b: [undefined, () => 1], c: 1 }],
  ['a number as it was written', { a: new JsonText('1e400'), b: [new JsonText('1.0')] }],
  ['nothing in it', { a: {}, b: [] }],
  ['half a character', { a: `x${'\ud83d'}`.repeat(300_000) }],
  ['marks and line feeds', '"\n\\'.repeat(400_000)],
  ['characters with two halves, from either place', ['🙂'.repeat(600_000), `x${'🙂'.repeat(600_000)}`]],
  ['many values', Array.from({ length: 50_000 }, (_, place) => ({ place }))],
])('prints %s the same as in one go', async (_name, value) => {
  expect((await printSliced(value)) === printJson(value)).toBe(true);
});

test('other work runs in between for any kind of body', async () => {
  const texts = ['x'.repeat(8_000_000), '"'.repeat(4_000_000), 'é'.repeat(4_000_000)];
  const bodies: Readonly<Record<string, unknown>>[] = [
    ...texts.map((text) => ({ messages: [{ role: 'user', content: text }] })),
    { tools: Array.from({ length: 200_000 }, (_, place) => place) },
  ];
  for (const body of bodies) {
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const { bytes, members } = await printJsonObjectInSlices(body);
    isOver = true;
    expect(turns).toBeGreaterThan(5);
    const expectedJson = printedJsonObject(body);
    expect(bytes.equals(expectedJson.bytes)).toBe(true);
    expect(members).toEqual(expectedJson.members);
  }
});
