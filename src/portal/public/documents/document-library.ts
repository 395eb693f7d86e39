import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Injectable } from '@nestjs/common';
import { CatalogueService } from '../../../catalogue';
import { Settings } from '../../../platform';
import { claudeCodeSettings, codexSettings, projectFolder } from '../../../views';
import type { PortalIdentity } from '../../../web';
import { exampleModels } from '../example-models';
import { publicModels } from '../public-models';
import { documentLink, linkCodes, references } from './links';
import { type MarkdownPage, renderMarkdown, splitFrontMatter } from './markdown';

export interface DocumentPage extends MarkdownPage {
  readonly lede?: string;
  /** Layout of the parts; absent for plain running text. */
  readonly layout?: string;
  /** Set for references only, as page titles are translated. */
  readonly title?: string;
}

const copyLabel = 'Copy';

@Injectable()
export class DocumentLibrary {
  private readonly texts = new Map<string, string>();

  constructor(
    private readonly settings: Settings,
    private readonly catalogue: CatalogueService,
  ) {}

  page(name: string, portal: PortalIdentity): DocumentPage {
    const { fields, text } = splitFrontMatter(this.readText(join('views', 'content', `${name}.md`)));
    const values = this.values(portal);
    return {
      ...renderMarkdown(linkCodes(text), { values, copyLabel }),
      layout: fields.layout,
      ...(fields.lede === undefined ? {} : { lede: fields.lede.replaceAll('{{brand}}', portal.brandName) }),
    };
  }

  reference(name: string): DocumentPage | undefined {
    if (!references.has(name)) return undefined;
    const text = this.readText(join('docs', `${name}.md`));
    const title = /^# (.+)$/m.exec(text)?.[1] ?? name;
    return { ...renderMarkdown(text, { link: documentLink, copyLabel }), title };
  }

  /** Values that texts can use as `{{name}}`. */
  private values({ baseUrl, portalUrl, brandName }: PortalIdentity): Readonly<Record<string, string>> {
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

  /** Caches files outside development, because they do not change while the service runs. */
  private readText(path: string): string {
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
