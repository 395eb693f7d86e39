import { Fault } from '../../../src/kernel';
import { FormPipe, IfPresent, IsLine, IsWholeNumber } from '../../../src/web/validation';

class Sample {
  @IsLine(5)
  required: string;

  @IsLine(5, { optional: true })
  optional?: string;

  @IsLine(5, { clearable: true })
  clearable?: string | null;

  @IfPresent()
  @IsLine(5)
  present?: string;

  @IsWholeNumber(1, 9, { default: 3 })
  count: number;
}

const parse = (fields: object) =>
  new FormPipe().transform({ required: 'a', ...fields }, { type: 'body', metatype: Sample });

const issuesOf = async (fields: object): Promise<unknown> => {
  const error: unknown = await parse(fields).catch((reason: unknown) => reason);
  if (!(error instanceof Fault)) throw new Error('expected a fault');
  return error.options.details?.errors;
};

test.each([
  ['an absent field', {}, { required: 'a', count: 3 }],
  ['a blank optional field', { optional: ' ' }, { required: 'a', count: 3 }],
  ['null for an optional field', { optional: null }, { required: 'a', count: 3 }],
  ['a blank clearable field', { clearable: '' }, { required: 'a', count: 3, clearable: null }],
  ['null for a clearable field', { clearable: null }, { required: 'a', count: 3, clearable: null }],
  ['the text of a number', { count: '7' }, { required: 'a', count: 7 }],
])('reads %s', async (_, fields, expected) => {
  expect(JSON.parse(JSON.stringify(await parse(fields)))).toEqual(expected);
});

test.each([
  ['a missing required field', { required: undefined }, 'required', 'missing'],
  ['a blank required field', { required: '' }, 'required', 'isString'],
  ['null for a field that can only be absent', { present: null }, 'present', 'isString'],
  ['a blank field that can only be absent', { present: '' }, 'present', 'isString'],
  ['a number above its limit', { count: 10 }, 'count', 'max'],
])('rejects %s', async (_, fields, name, type) => {
  expect(await issuesOf(fields)).toEqual([expect.objectContaining({ loc: ['body', name], type })]);
});

test('ignores unknown query parameters of pages only', async () => {
  const query = { required: 'a', utm_source: 'mail' };
  const page = new FormPipe({ isPage: true });
  const metadata = { type: 'query', metatype: Sample } as const;
  expect(await page.transform(query, metadata)).toMatchObject({ required: 'a' });
  for (const [pipe, input] of [
    [page, { ...query, format: 'json' }],
    [new FormPipe(), query],
  ] as const)
    await expect(pipe.transform(input, metadata)).rejects.toMatchObject({ code: 'validation_error' });
});
