import { knownFields, steeringFields } from '../../../src/routing';
import { isSteering, nestedFields, operationNames, serviceFields } from '../../../src/routing/suppliers/kit';
import { profiles } from '../../../src/routing/suppliers/openai-style/profiles';

test('no field of an interface or of a service steers', () => {
  const names = [
    ...operationNames.flatMap((operation) => [...knownFields(operation).names]),
    ...Object.values(serviceFields).flat(),
    ...Object.values(profiles).flatMap(({ own }) => Object.values(own).flat()),
  ];
  expect(names.filter((name) => isSteering(name))).toEqual([]);
});

test('names have no spaces or capitals, and are told once', () => {
  for (const names of [steeringFields, ...operationNames.map((operation) => knownFields(operation).names)])
    expect([...names].filter((name) => !/^[a-z][a-z0-9_-]*$/.test(name))).toEqual([]);
});

test('only services that validate get what nobody knows', () => {
  const validating = Object.entries(profiles).flatMap(([name, { validates }]) => (validates ? [name] : []));
  expect(validating).toEqual(['openai', 'azure']);
});

test('a field of a service is refused in another spelling, too', () => {
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
])('%j may be taken for %s', (name, meant) => {
  expect(knownFields('chat').lookalikeOf(name)).toBe(meant);
});

test('inner objects that are read have their names', () => {
  expect(nestedFields.get('stream_options')?.lookalikeOf('INCLUDE_USAGE')).toBe('include_usage');
  expect(nestedFields.get('metadata')?.lookalikeOf('Provider')).toBeUndefined();
});
