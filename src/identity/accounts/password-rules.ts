import { fault } from '../../kernel';

export const MIN_PASSWORD_LENGTH = 12;
export const MAX_PASSWORD_LENGTH = 256;

const frequent = [
  'password', 'passwort', 'passwortpasswort', 'motdepasse', 'contrasena', 'contraseña', 'parola', 'qwerty', 'qwertz',
  'azerty', 'letmein', 'welcome', 'willkommen', 'bienvenue', 'benvenuto', 'iloveyou', 'admin', 'administrator',
  'changeme', 'secret', 'geheim', 'monkey', 'dragon', 'football', 'baseball', 'superman', 'batman', 'princess',
  'sunshine', 'starwars', 'abcdef', 'asdfgh', 'zxcvbn', 'switchboard',
]; // prettier-ignore
const runs = [
  '01234567890123456789',
  'abcdefghijklmnopqrstuvwxyz',
  'qwertyuiopasdfghjklzxcvbnm',
  'qwertzuiopasdfghjklyxcvbnm',
];

/**
 * Length counts only after removing what attackers guess first: frequent words, runs, repetitions and the user's own
 * address.
 */
export function assertStrongPassword(password: string, email: string): void {
  if ([...password].length < MIN_PASSWORD_LENGTH || countUnguessedCharacters(password, email) < 6)
    throw fault('weak_password', { param: 'password' });
}

/** For actions that require the password again, because a stranger at an open screen must not perform them. */
export const wrongPassword = (param: string): Error =>
  fault('invalid_credentials', {
    param,
    message: 'This password is not right.',
    details: { reason: 'password' },
  });

function countUnguessedCharacters(password: string, email: string): number {
  let rest = password.toLowerCase();
  const addressParts = email
    .toLowerCase()
    .split(/[@.+_-]/)
    .filter((part) => part.length >= 4);
  for (const word of [...frequent, ...addressParts]) rest = rest.replaceAll(word, '');
  for (const run of runs) {
    for (const text of [run, [...run].reverse().join('')]) rest = withoutRun(rest, text);
  }
  return new Set(rest).size;
}

function withoutRun(password: string, run: string): string {
  let rest = password;
  for (let length = run.length; length >= 4; length -= 1) {
    for (let start = 0; start + length <= run.length; start += 1) {
      rest = rest.replaceAll(run.slice(start, start + length), '');
    }
  }
  return rest;
}
