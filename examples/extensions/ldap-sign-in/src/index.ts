import { defineExtension } from '@switchboard/extension';
import { authenticate } from './directory';
import { settings } from './settings';

/**
 * The host shows the form, counts attempts, and then calls authenticate(). It gives a person, or null where name or
 * password is wrong, or throws where that could not be found out.
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
