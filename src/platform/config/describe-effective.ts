import type { X509Certificate } from 'node:crypto';
import { certificatesIn } from './egress-readers';
import { declaredSettings } from './setting.decorator';
import type { Settings } from './settings';

/** Subject and expiry, which is what readers look for in a certificate. */
const summaryOf = ({ subject, validToDate }: X509Certificate): string =>
  `${subject.replaceAll('\n', ', ')} until ${validToDate.toISOString().slice(0, 10)}`;

export interface EffectiveSetting {
  readonly group: string;
  readonly name: string;
  readonly value: string;
}

export function describeEffective(settings: Settings): EffectiveSetting[] {
  return declaredSettings.map(({ group, name, property, secret }) => {
    const value = displayText(settings[property as keyof Settings]);
    return { group, name, value: secret && value !== '' ? maskSecret(value) : value };
  });
}

function displayText(value: Settings[keyof Settings]): string {
  if (typeof value === 'object') return JSON.stringify(value);
  const text = String(value ?? '');
  return text.includes('-----BEGIN CERTIFICATE') ? certificatesIn(text).map(summaryOf).join('; ') : text;
}

/** Host and path of a URL stay readable, for diagnosing failed connections. */
function maskSecret(value: string): string {
  if (!URL.canParse(value)) return '••••';
  const { protocol, host, pathname, username, password } = new URL(value);
  if (host === '') return '••••';
  return `${protocol}//${username || password ? '••••@' : ''}${host}${pathname}`;
}
