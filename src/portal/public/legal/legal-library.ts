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
  /** True for the template shipped with the product, which the operator has not replaced yet. */
  readonly isTemplate: boolean;
  readonly text: string;
}

const MAX_FILE_BYTES = 512 * 1_024;
const MAX_FILES = 500;

/**
 * Legal texts of this deployment, read once at the start. Front matter gives version, effective date and language; the
 * operator's texts replace templates of the same document.
 */
@Injectable()
export class LegalLibrary {
  private readonly texts: readonly LegalText[];

  constructor({ legalFolder }: Settings) {
    const templates = readTexts(join(projectFolder, 'views', 'legal'), true);
    const operatorTexts = legalFolder === undefined ? [] : readTexts(legalFolder, false);
    const replacedDocuments = new Set(operatorTexts.map(({ document }) => document));
    this.texts = [...operatorTexts, ...templates.filter(({ document }) => !replacedDocuments.has(document))];
  }

  /** Returns the current or the requested version, preferably in the requested language. */
  find(document: LegalDocument, language: string, version?: string): LegalText | undefined {
    const requestedVersion = version ?? this.versions(document).find(({ isCurrent }) => isCurrent)?.version;
    const candidates = this.texts.filter(
      (text) => text.document === document && text.version === requestedVersion,
    );
    return (
      candidates.find((text) => text.language === language) ??
      candidates.find((text) => text.language === 'en') ??
      candidates[0]
    );
  }

  get currentTerms(): string {
    const current = this.versions('terms').find(({ isCurrent }) => isCurrent);
    if (current === undefined) throw new Error('there are no terms of service');
    return current.version;
  }

  /** Newest first; current is the latest version in effect. */
  versions(document: LegalDocument): { version: string; effective: Date; isCurrent: boolean }[] {
    const effectiveByVersion = new Map(
      this.texts.filter((text) => text.document === document).map((text) => [text.version, text.effective]),
    );
    const sorted = [...effectiveByVersion].sort(([, a], [, b]) => b.getTime() - a.getTime());
    const [current] =
      sorted.find(([, effective]) => effective.getTime() <= Date.now()) ?? sorted.at(-1) ?? [];
    return sorted.map(([version, effective]) => ({ version, effective, isCurrent: version === current }));
  }
}

function readTexts(folder: string, isTemplate: boolean): LegalText[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.md'));
  if (names.length > MAX_FILES) throw new Error(`${folder} holds more than ${MAX_FILES} legal texts`);
  return names.flatMap((name) => {
    const document = legalDocuments.find((known) => name === `${known}.md` || name.startsWith(`${known}.`));
    if (document === undefined) return [];
    return [readLegalText(document, join(folder, name), isTemplate)];
  });
}

function readLegalText(document: LegalDocument, path: string, isTemplate: boolean): LegalText {
  const source = readFileSync(path);
  if (source.length > MAX_FILE_BYTES) throw new Error(`${path} is larger than ${MAX_FILE_BYTES} bytes`);
  const { fields, text } = splitFrontMatter(source.toString('utf8'));
  const { version = '', effective = '', language = 'en' } = fields;
  if (!/^[\w.-]{1,40}$/.test(version))
    throw new Error(`${path} needs a line "version:" with letters, digits, dots`);
  if (!/^\d{4}-\d\d-\d\d$/.test(effective) || Number.isNaN(Date.parse(effective)))
    throw new Error(`${path} needs a line "effective:" with a day such as 2027-01-31`);
  if (!/^[a-z]{2}$/.test(language)) throw new Error(`${path} needs a line "language:" such as de`);
  return { document, version, effective: new Date(effective), language, isTemplate, text };
}
