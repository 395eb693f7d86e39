import { done } from '../../../src/web/routes/action-result';

// "done(to) is an open redirect"
test.each([
  'https://elsewhere.example/',
  '//elsewhere.example',
  '/\\\\elsewhere.example',
  'javascript:alert(1)',
])('change never redirects to %s', (to) => expect(done(to, {}).to).toBe('/dashboard'));

test('change redirects to a path with its query and fragment', () => {
  expect(done('/dashboard/keys?status=active#key-7', {}).to).toBe('/dashboard/keys?status=active#key-7');
});

test.each([undefined, null, { toString: () => '/dashboard' }])(
  'redirect after a change without a valid path throws: %p',
  (to) => {
    expect(() => done(to as unknown as string, {})).toThrow('done() takes a path of the portal');
  },
);
