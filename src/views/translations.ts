import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInstance } from 'i18next';
import { parseJsonText } from '../kernel';
import { locales, type Locale } from './view-context';

export type Translate = (key: string, values?: Record<string, unknown>) => string;
export type Translations = (locale: Locale) => Translate;

/**
 * Messages are whole sentences with plural forms. Escaping is the template's
 * business, so values go in as they are.
 */
export async function loadTranslations(localesFolder: string): Promise<Translations> {
  const resources = Object.fromEntries(
    locales.map((locale) => [
      locale,
      { translation: parseJsonText(readFileSync(join(localesFolder, `${locale}.json`), 'utf8')) as object },
    ]),
  );
  const instance = createInstance();
  await instance.init({
    resources,
    fallbackLng: 'en',
    supportedLngs: [...locales],
    interpolation: { escapeValue: false },
    returnNull: false,
  });
  return (locale) => {
    const translate = instance.getFixedT(locale);
    return (key, values) => translate(key, values ?? {});
  };
}
