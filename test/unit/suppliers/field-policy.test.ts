import { knownFields, steeringFields } from '../../../src/routing';
import { isSteering, nestedFields, operationNames, serviceFields } from '../../../src/routing/suppliers/kit';
import { profiles } from '../../../src/routing/suppliers/openai-style/profiles';

test('fields of an API or service are never routing fields', () => {
  const names = [
    ...operationNames.flatMap((operation) => [...knownFields(operation).names]),
    ...Object.values(serviceFields).flat(),
    ...Object.values(profiles).flatMap(({ own }) => Object.values(own).flat()),
  ];
  expect(names.filter((name) => isSteering(name))).toEqual([]);
});

test('field names are lower case without spaces', () => {
  for (const names of [steeringFields, ...operationNames.map((operation) => knownFields(operation).names)])
    expect([...names].filter((name) => !/^[a-z][a-z0-9_-]*$/.test(name))).toEqual([]);
});

test('only services that validate requests receive unknown fields', () => {
  const validatingProfiles = Object.entries(profiles).flatMap(([name, { validates }]) =>
    validates ? [name] : [],
  );
  expect(validatingProfiles).toEqual(['openai', 'azure']);
});

test('misspelt service field is rejected', () => {
  for (const name of [...Object.values(profiles).flatMap(({ own }) => own.chat ?? [])])
    expect([name, knownFields('chat').lookalikeOf(name.toUpperCase())]).toEqual([name, name]);
});

test.each([
  ['MODEL', 'model'],
  ['ｍｏｄｅｌ', 'model'],
  ['m\u0301odel', 'model'],
  ['max_to\u212aens', 'max_tokens'],
  ['\u017feed', 'seed'],
  ['l\u0130gprobs', undefined],
  ['reg\u0131on', 'region'],
  ['\ufeffmodel', 'model'],
  ['mo\u00addel', 'model'],
  ['model\u0000', 'model'],
  ['mode1', undefined],
  ['modell', undefined],
])('%j is recognised as %s', (name, meant) => {
  expect(knownFields('chat').lookalikeOf(name)).toBe(meant);
});

test('nested objects that are read have a list of names', () => {
  expect(nestedFields.get('stream_options')?.lookalikeOf('INCLUDE_USAGE')).toBe('include_usage');
  expect(nestedFields.get('metadata')?.lookalikeOf('Provider')).toBeUndefined();
});
