import { done } from '../../../src/web/routes/action-result';

// "done(to) is an open redirect"
test.each([
  'https://elsewhere.example/',
  '//elsewhere.example',
  '/\\\\elsewhere.example',
  'javascript:alert(1)',
])('a change never leads to %s', (to) => expect(done(to, {}).to).toBe('/dashboard'));

test('a change leads to a path with its query and fragment', () => {
  expect(done('/dashboard/keys?status=active#key-7', {}).to).toBe('/dashboard/keys?status=active#key-7');
});

test.each([undefined, null, { toString: () => '/dashboard' }])(
  'a change to no path is a mistake: %p',
  (to) => {
    expect(() => done(to as unknown as string, {})).toThrow('done() takes a path of the portal');
  },
);
