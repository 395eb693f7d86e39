import type { X509Certificate } from 'node:crypto';
import { certificatesIn } from './egress-readers';
import { declaredSettings } from './setting.decorator';
import type { Settings } from './settings';

/** Nobody reads a certificate; whose it is and when it ends is what one looks for. */
const summaryOf = ({ subject, validToDate }: X509Certificate): string =>
  `${subject.replaceAll('\n', ', ')} until ${validToDate.toISOString().slice(0, 10)}`;

export interface EffectiveSetting {
  readonly group: string;
  readonly name: string;
  readonly value: string;
}

/** The settings as they are in force, with nothing in it that may not be read over a shoulder. */
export function describeEffective(settings: Settings): EffectiveSetting[] {
  return declaredSettings.map(({ group, name, property, secret }) => {
    const value = shown(settings[property as keyof Settings]);
    return { group, name, value: secret && value !== '' ? masked(value) : value };
  });
}

function shown(value: Settings[keyof Settings]): string {
  if (typeof value === 'object') return JSON.stringify(value);
  const text = String(value ?? '');
  return text.includes('-----BEGIN CERTIFICATE') ? certificatesIn(text).map(summaryOf).join('; ') : text;
}

/** Of an address, host and path stay readable: that is what one looks for when a connection fails. */
function masked(value: string): string {
  if (!URL.canParse(value)) return '••••';
  const { protocol, host, pathname, username, password } = new URL(value);
  if (host === '') return '••••';
  return `${protocol}//${username || password ? '••••@' : ''}${host}${pathname}`;
}
