import { defineExtension } from '@switchboard/extension';
import { authenticate } from './directory';
import { settings } from './settings';

/**
 * The host shows the form, counts attempts, and then calls authenticate(). It returns a user, or null if name or
 * password is wrong, or throws if that could not be determined.
 */
export default defineExtension({
  id: 'ldap-sign-in',
  version: '1.0.0',
  host: '^1',
  settings,
  setup: ({ settings: directory }) => ({
    identityProviders: [
      {
        name: 'staff',
        label: directory.label,
        authenticate: (typed, signal) => authenticate(directory, typed, signal),
      },
    ],
  }),
});
