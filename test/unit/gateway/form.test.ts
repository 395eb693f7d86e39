import fc from 'fast-check';
import { fieldsOf, isForm, parseForm } from '../../../src/gateway/media/multipart-form';
import { encodeForm } from '../../../src/routing/suppliers/kit';
import { readUpload } from '../../../src/web/upload';

const type = 'multipart/form-data; boundary=frontier';
const part = (head: string, value: string | Buffer): Buffer =>
  Buffer.concat([Buffer.from(`--frontier\r\n${head}\r\n\r\n`), Buffer.from(value), Buffer.from('\r\n')]);
const form = (...parts: Buffer[]): Buffer => Buffer.concat([...parts, Buffer.from('--frontier--\r\n')]);
const field = (name: string, value: string): Buffer =>
  part(`Content-Disposition: form-data; name="${name}"`, value);
const parse = (...parts: Buffer[]) => parseForm(form(...parts), type);

describe('Multipart form', () => {
  test('is parsed in any field order, and its file is unchanged to the byte', async () => {
    const bytes = Buffer.from([0, 13, 10, 45, 45, 255, 13, 10]);
    const file = part(
      'Content-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav',
      bytes,
    );
    const model = field('model', 'm');
    for (const parsed of [await parse(file, model), await parse(model, file)]) {
      expect(parsed.fields).toEqual([['model', 'm']]);
      expect(parsed.files).toEqual([{ field: 'file', name: 'a.wav', type: 'audio/wav', bytes }]);
    }
  });

  test.each([
    ['filename="Grüße 你好.mp3"', 'Grüße 你好.mp3'],
    ['filename="say %22hi%22.mp3"', 'say "hi".mp3'],
    ['filename="say \\"hi\\".mp3"', 'say "hi".mp3'],
    ['filename="x"; filename*=UTF-8\'\'Gr%C3%BC%C3%9Fe.mp3', 'Grüße.mp3'],
    ['filename=plain.mp3', 'plain.mp3'],
    ['filename=""', ''],
    ['filename="a\u2028b\u2029.mp3"', 'a\u2028b\u2029.mp3'],
    ['filename="a\\\u2028.mp3"', 'a\\\u2028.mp3'],
    [
      'filename="\u2028content-disposition: form-data; name=other"',
      '\u2028content-disposition: form-data; name=other',
    ],
    ['filename="x"; filename*=UTF-8\'\'%E2%80%A8', '\u2028'],
  ])('keeps its file name: %s', async (written, name) => {
    const { files } = await parse(part(`content-disposition: FORM-DATA; ${written}; name=file`, 'x'));
    expect(files[0]).toMatchObject({ field: 'file', name });
  });

  test('accepts a quoted boundary, a preamble and an epilogue', async () => {
    const text =
      'preamble\r\n--a b\r\nContent-Disposition: form-data; name="model"\r\n\r\nm\r\n--a b--\r\nepilogue';
    const parsed = await parseForm(Buffer.from(text), 'Multipart/Form-Data; charset=utf-8; boundary="a b"');
    expect(parsed.fields).toEqual([['model', 'm']]);
  });

  test('collects fields with brackets into lists and rejects other duplicates', async () => {
    const parsed = await parse(field('include[]', 'a'), field('include[]', 'b'), field('model', 'm'));
    expect(fieldsOf(parsed)).toEqual({ 'include[]': ['a', 'b'], model: 'm' });
    const duplicated = await parse(field('model', 'a'), field('model', 'b'));
    expect(() => fieldsOf(duplicated)).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        options: expect.objectContaining({ param: 'model' }),
      }),
    );
  });

  test.each([
    '__proto__',
    'constructor',
    'toString',
    'a[b][c]',
    'a[__proto__]',
    'metadata.x',
    '',
    'x'.repeat(65),
  ])('rejects a field named %s', async (name) => {
    await expect(parse(field(name, 'polluted'))).rejects.toMatchObject({
      code: 'invalid_request',
      options: { param: name.slice(0, 64) },
    });
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });

  test.each([
    ['no boundary', 'multipart/form-data', form(field('a', 'b'))],
    ['another boundary', 'multipart/form-data; boundary=other', form(field('a', 'b'))],
    ['no end', type, field('a', 'b')],
    ['nothing', type, Buffer.alloc(0)],
    ['a part without a header', type, Buffer.from('--frontier\r\n\r\nx\r\n--frontier--')],
    ['a part without a name', type, form(part('Content-Disposition: form-data', 'x'))],
    ['a header without an end', type, form(part(`X-Long: ${'x'.repeat(5_000)}`, 'x'))],
    [
      'a bare line feed in a header',
      type,
      form(part('X-Other: a\nContent-Disposition: form-data; name="a"', 'b')),
    ],
    [
      'a bare return in a header',
      type,
      form(part('Content-Disposition: form-data; name="a"; filename="\r"', 'b')),
    ],
    [
      'line ends of another kind',
      type,
      Buffer.from('--frontier\nContent-Disposition: form-data; name="a"\n\nb\n--frontier--\n'),
    ],
    [
      'a boundary that goes on',
      type,
      Buffer.from('--frontierX\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n--frontier--'),
    ],
  ])('is rejected for %s', async (_what, contentType, bytes) => {
    await expect(parseForm(bytes, contentType)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('form of a thousand fields is rejected after the first few', async () => {
    const manyFields = Array.from({ length: 1_000 }, (_, index) => field(`f${index}`, 'x'));
    await expect(parse(...manyFields)).rejects.toThrow(/at most 64 parts/);
  });

  test('rejects long values unless they are files', async () => {
    await expect(parse(field('prompt', 'x'.repeat(70_000)))).rejects.toMatchObject({
      code: 'request_too_large',
      options: { param: 'prompt' },
    });
  });

  test('keeps its content when it is encoded again for a supplier', async () => {
    const text = fc.string({ unit: 'binary', maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.stringMatching(/^[a-z]{1,8}$/), text), { maxLength: 5 }),
        fc.uint8Array({ maxLength: 64 }),
        fc.string({ unit: 'grapheme', maxLength: 20 }).filter((name) => !/[%\\]/.test(name)),
        async (pairs, bytes, name) => {
          const fields = pairs
            .filter(([field]) => !(field in {}))
            .map(([field, value]) => [field, Buffer.from(value).toString()] as const);
          const files = [{ field: 'file', name, type: 'audio/wav', bytes: Buffer.from(bytes) }];
          const encoded = encodeForm({ fields, files });
          expect(await parseForm(encoded.bytes.buffer, encoded.contentType)).toEqual({ fields, files });
        },
      ),
    );
  });

  test('cut off or garbled anywhere is either parsed or rejected', async () => {
    const completeForm = form(
      field('model', 'm'),
      part('Content-Disposition: form-data; name="file"; filename="a"', 'xyz'),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.nat(completeForm.length),
        fc.nat(completeForm.length - 1),
        fc.nat(255),
        async (end, at, byte) => {
          const garbled = Buffer.from(completeForm);
          garbled[at] = byte;
          for (const bytes of [completeForm.subarray(0, end), garbled]) {
            try {
              await parseForm(bytes, type);
            } catch (error) {
              expect(error).toMatchObject({ code: 'invalid_request' });
            }
          }
        },
      ),
    );
  });
});

test.each([
  '',
  '; boundary=',
  '; boundary=""',
  '; boundary=;charset=utf-8',
  '; boundary="',
  '; boundary="a\\"',
])('form whose content type ends in <%s> is rejected immediately', async (end) => {
  const reason = expect.stringContaining('no boundary') as string;
  await expect(parseForm(form(field('model', 'm')), `multipart/form-data${end}`)).rejects.toMatchObject({
    code: 'invalid_request',
    message: reason,
  });
  await expect(readUpload(form(field('model', 'm')), `multipart/form-data${end}`)).rejects.toMatchObject({
    code: 'validation_error',
    options: { details: { errors: [{ loc: ['body'], msg: reason }] } },
  });
});

test('first non-empty boundary is used', async () => {
  const contentType = 'multipart/form-data; boundary=; charset=utf-8; boundary=frontier; boundary=other';
  expect((await parseForm(form(field('model', 'm')), contentType)).fields).toEqual([['model', 'm']]);
  expect(await readUpload(form(field('model', 'm')), contentType)).toEqual({ model: 'm' });
});

test.each([
  ['multipart/form-data; boundary=x', true],
  ['Multipart/Form-Data;boundary=x', true],
  ['multipart/form-data', true],
  ['multipart/form-datax', false],
  ['multipart/mixed; boundary=x', false],
  ['application/json', false],
  [undefined, false],
])('content type %s is a form: %s', (contentType, expected) => {
  expect(isForm(contentType)).toBe(expected);
});
