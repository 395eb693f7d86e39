import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInstance, type TFunction } from 'i18next';
import { parseJsonText } from '../kernel';
import { locales, type Locale } from './view-context';

export type Translate = (key: string, values?: Record<string, unknown>) => string;
/** With an extension, its texts take precedence over the host's. */
export type Translations = (locale: Locale, extension?: string) => Translate;

interface ExtensionTexts {
  readonly id: string;
  readonly messages: Readonly<Record<Locale, object>> | null;
}

/** Loads the messages: complete sentences with plural forms. Values are not escaped, as templates do that. */
export async function loadTranslations(
  localesFolder: string,
  extensions: readonly ExtensionTexts[] = [],
): Promise<Translations> {
  const resources = Object.fromEntries(
    locales.map((locale) => {
      const host = parseJsonText(readFileSync(join(localesFolder, `${locale}.json`), 'utf8')) as object;
      const extensionMessages = Object.fromEntries(
        extensions.map(({ id, messages }) => [id, messages?.[locale] ?? {}]),
      );
      return [locale, { translation: { ...host, ext: extensionMessages } }];
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
  const translatorFor = (locale: Locale): Translate => cachedTranslator(instance.getFixedT(locale));
  const translators = {
    en: translatorFor('en'),
    de: translatorFor('de'),
    fr: translatorFor('fr'),
    it: translatorFor('it'),
    es: translatorFor('es'),
  };
  return (locale, extension) =>
    extension === undefined ? translators[locale] : withExtensionTexts(extension, translators[locale]);
}

export function withExtensionTexts(extension: string, translate: Translate): Translate {
  return (key, values) => {
    const extensionKey = `ext.${extension}.${key}`;
    const text = translate(extensionKey, values);
    return text === extensionKey ? translate(key, values) : text;
  };
}

/** Caches messages without values, as pages use the same few hundreds of times. */
function cachedTranslator(translate: TFunction): Translate {
  const cache = new Map<string, string>();
  return (key, values = {}) => {
    if (Object.keys(values).length > 0) return translate(key, values);
    const message = cache.get(key) ?? translate(key);
    // i18next returns the key itself for a missing message; such keys are unbounded, so they are not cached.
    if (message !== key) cache.set(key, message);
    return message;
  };
}
