import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInstance, type TFunction } from 'i18next';
import { parseJsonText } from '../kernel';
import { locales, type Locale } from './view-context';

export type Translate = (key: string, values?: Record<string, unknown>) => string;
/** The texts of an extension come before the host's. */
export type Translations = (locale: Locale, extension?: string) => Translate;

interface ExtensionTexts {
  readonly id: string;
  readonly messages: Readonly<Record<Locale, object>> | null;
}

/**
 * Messages are whole sentences with plural forms. Escaping is the template's
 * business, so values go in as they are.
 */
export async function loadTranslations(
  localesFolder: string,
  extensions: readonly ExtensionTexts[] = [],
): Promise<Translations> {
  const resources = Object.fromEntries(
    locales.map((locale) => {
      const host = parseJsonText(readFileSync(join(localesFolder, `${locale}.json`), 'utf8')) as object;
      const ext = Object.fromEntries(extensions.map(({ id, messages }) => [id, messages?.[locale] ?? {}]));
      return [locale, { translation: { ...host, ext } }];
    }),
  );
  const instance = createInstance();
  await instance.init({
    resources,
    fallbackLng: 'en',
    supportedLngs: [...locales],
    interpolation: { escapeValue: false },
    returnNull: false,
  });
  const of = (locale: Locale): Translate => translatorOf(instance.getFixedT(locale));
  const translators = { en: of('en'), de: of('de'), fr: of('fr'), it: of('it'), es: of('es') };
  return (locale, extension) =>
    extension === undefined ? translators[locale] : ownFirst(extension, translators[locale]);
}

/** Looks among the texts of an extension, then among the host's. */
export function ownFirst(extension: string, translate: Translate): Translate {
  return (key, values) => {
    const own = `ext.${extension}.${key}`;
    const text = translate(own, values);
    return text === own ? translate(key, values) : text;
  };
}

/** A page asks for the same few messages hundreds of times, most of them without a value. */
function translatorOf(translate: TFunction): Translate {
  const known = new Map<string, string>();
  return (key, values = {}) => {
    if (Object.keys(values).length > 0) return translate(key, values);
    const message = known.get(key) ?? translate(key);
    // A key without a message is answered with itself; those may be without number.
    if (message !== key) known.set(key, message);
    return message;
  };
}
