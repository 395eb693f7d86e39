import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Injectable } from '@nestjs/common';
import { CatalogueService } from '../../../catalogue';
import { Settings } from '../../../platform';
import { claudeCodeSettings, codexSettings, projectFolder } from '../../../views';
import type { PortalPlace } from '../../../web';
import { exampleModels } from '../example-models';
import { publicModels } from '../public-models';
import { documentLink, linkCodes, references } from './links';
import { type MarkdownPage, renderMarkdown, splitFrontMatter } from './markdown';

export interface DocumentPage extends MarkdownPage {
  readonly lede?: string;
  /** Its parts are laid out so, where it is more than running text. */
  readonly layout?: string;
  /** Only references have one: the pages are named in five languages. */
  readonly title?: string;
}

const copyLabel = 'Copy';

/** Texts in Markdown that come with the product, with this deployment's own values filled in. */
@Injectable()
export class DocumentLibrary {
  private readonly texts = new Map<string, string>();

  constructor(
    private readonly settings: Settings,
    private readonly catalogue: CatalogueService,
  ) {}

  page(name: string, place: PortalPlace): DocumentPage {
    const { fields, text } = splitFrontMatter(this.read(join('views', 'content', `${name}.md`)));
    const values = this.values(place);
    return {
      ...renderMarkdown(linkCodes(text), { values, copyLabel }),
      layout: fields.layout,
      ...(fields.lede === undefined ? {} : { lede: fields.lede.replaceAll('{{brand}}', place.brandName) }),
    };
  }

  reference(name: string): DocumentPage | undefined {
    if (!references.has(name)) return undefined;
    const text = this.read(join('docs', `${name}.md`));
    const title = /^# (.+)$/m.exec(text)?.[1] ?? name;
    return { ...renderMarkdown(text, { link: documentLink, copyLabel }), title };
  }

  /** Texts may name these values in double braces. */
  private values({ baseUrl, portalUrl, brandName }: PortalPlace): Readonly<Record<string, string>> {
    const { settings } = this;
    const { chat, large, embedding } = exampleModels(publicModels(this.catalogue));
    const agents = { baseUrl, key: '$SVC_API_KEY', model: chat, largeModel: large };
    return {
      brand: brandName,
      baseUrl,
      portalUrl,
      chatModel: chat,
      largeModel: large,
      embeddingModel: embedding,
      claudeCodeSettings: claudeCodeSettings(agents),
      codexSettings: codexSettings(agents),
      keyRate: String(settings.keyRateLimitRpm),
      keyFailures: String(settings.keyFailuresPerMinute),
      publicRate: String(settings.publicRequestsPerMinute),
      openRequests: String(settings.openRequestsLimit),
      bodyLimit: megabytes(settings.bodyLimitBytes),
      portalBodyLimit: megabytes(settings.portalBodyLimitBytes),
      minimumOutput: String(settings.budgetMinOutput),
      retention:
        settings.recordRetentionMonths === undefined
          ? 'for as long as this deployment runs'
          : `for ${settings.recordRetentionMonths} months`,
      responsesStore:
        settings.responsesStore === 'on' ? 'kept encrypted for 24 hours' : 'not kept by this deployment',
      exportRows: settings.auditExportMaxRows.toLocaleString('en'),
    };
  }

  /** Files of the installation do not change while it runs; in development they do. */
  private read(path: string): string {
    let text = this.texts.get(path);
    if (text === undefined || this.settings.environment === 'development') {
      text = readFileSync(join(projectFolder, path), 'utf8');
      this.texts.set(path, text);
    }
    return text;
  }
}

const MEBIBYTE = 1_048_576;
const megabytes = (bytes: number): string =>
  bytes >= MEBIBYTE ? `${Math.floor(bytes / MEBIBYTE)} MiB` : `${Math.floor(bytes / 1_024)} KiB`;
