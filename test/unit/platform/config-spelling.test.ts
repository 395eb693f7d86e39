import { spellingWarnings } from '../../../src/platform/config';

test('misspelt setting is reported and other environment variables are not', () => {
  const ordinaryNames = [
    'PATH',
    'HOME',
    'TERM',
    'USER',
    'SHELL',
    'LANG',
    'PWD',
    'HOSTNAME',
    'NODE_OPTIONS',
    'MAIL',
  ];
  const knownNames = ['PORT', 'DATABASE_URL', 'DATABASE_URL_FILE'];
  expect(
    spellingWarnings(Object.fromEntries([...ordinaryNames, ...knownNames].map((name) => [name, 'x']))),
  ).toEqual([]);
  expect(
    spellingWarnings({ DATABSE_URL: 'x', PROT: 'x', LOG_LEVLE: 'x', POTR: 'x', REDIS_URI: 'x' }),
  ).toEqual([
    'DATABSE_URL is not a setting; did you mean DATABASE_URL?',
    'LOG_LEVLE is not a setting; did you mean LOG_LEVEL?',
    'REDIS_URI is not a setting; did you mean REDIS_URL?',
  ]);
});
