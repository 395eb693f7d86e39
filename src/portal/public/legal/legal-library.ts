import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Injectable } from '@nestjs/common';
import { Settings } from '../../../platform';
import { projectFolder } from '../../../views';
import { splitFrontMatter } from '../documents/markdown';

export const legalDocuments = [
  'terms',
  'aup',
  'privacy',
  'cookies',
  'dpa',
  'refund',
  'billing',
  'security',
] as const;
type LegalDocument = (typeof legalDocuments)[number];

export interface LegalText {
  readonly document: LegalDocument;
  readonly version: string;
  readonly effective: Date;
  readonly language: string;
  /** It is as it came with the product: the operator has yet to put a text of their own in its place. */
  readonly isTemplate: boolean;
  readonly text: string;
}

const LARGEST_BYTES = 512 * 1_024;
const MOST_FILES = 500;

/**
 * The legal texts of this deployment, read once at the start. Each says its version, the day it takes effect, and its
 * language in its first lines. Texts of the operator's folder take the place of the template of the same document.
 */
@Injectable()
export class LegalLibrary {
  private readonly texts: readonly LegalText[];

  constructor({ legalFolder }: Settings) {
    const templates = textsIn(join(projectFolder, 'views', 'legal'), true);
    const own = legalFolder === undefined ? [] : textsIn(legalFolder, false);
    const replaced = new Set(own.map(({ document }) => document));
    this.texts = [...own, ...templates.filter(({ document }) => !replaced.has(document))];
  }

  /** The text in force, or another version; in the language that is asked for where there is one. */
  find(document: LegalDocument, language: string, version?: string): LegalText | undefined {
    const asked = version ?? this.versions(document).find(({ isCurrent }) => isCurrent)?.version;
    const found = this.texts.filter((text) => text.document === document && text.version === asked);
    return (
      found.find((text) => text.language === language) ??
      found.find((text) => text.language === 'en') ??
      found[0]
    );
  }

  /** The version of the terms that people accept. */
  get currentTerms(): string {
    const current = this.versions('terms').find(({ isCurrent }) => isCurrent);
    if (current === undefined) throw new Error('there are no terms of service');
    return current.version;
  }

  /** The newest first; current is the last one that has taken effect. */
  versions(document: LegalDocument): { version: string; effective: Date; isCurrent: boolean }[] {
    const ofVersion = new Map(
      this.texts.filter((text) => text.document === document).map((text) => [text.version, text.effective]),
    );
    const sorted = [...ofVersion].sort(([, a], [, b]) => b.getTime() - a.getTime());
    const [current] =
      sorted.find(([, effective]) => effective.getTime() <= Date.now()) ?? sorted.at(-1) ?? [];
    return sorted.map(([version, effective]) => ({ version, effective, isCurrent: version === current }));
  }
}

function textsIn(folder: string, isTemplate: boolean): LegalText[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.md'));
  if (names.length > MOST_FILES) throw new Error(`${folder} holds more than ${MOST_FILES} legal texts`);
  return names.flatMap((name) => {
    const document = legalDocuments.find((known) => name === `${known}.md` || name.startsWith(`${known}.`));
    if (document === undefined) return [];
    return [legalText(document, join(folder, name), isTemplate)];
  });
}

function legalText(document: LegalDocument, path: string, isTemplate: boolean): LegalText {
  const source = readFileSync(path);
  if (source.length > LARGEST_BYTES) throw new Error(`${path} is larger than ${LARGEST_BYTES} bytes`);
  const { fields, text } = splitFrontMatter(source.toString('utf8'));
  const { version = '', effective = '', language = 'en' } = fields;
  if (!/^[\w.-]{1,40}$/.test(version))
    throw new Error(`${path} needs a line "version:" with letters, digits, dots`);
  if (!/^\d{4}-\d\d-\d\d$/.test(effective) || Number.isNaN(Date.parse(effective)))
    throw new Error(`${path} needs a line "effective:" with a day such as 2027-01-31`);
  if (!/^[a-z]{2}$/.test(language)) throw new Error(`${path} needs a line "language:" such as de`);
  return { document, version, effective: new Date(effective), language, isTemplate, text };
}
