import { Controller, Get, Header } from '@nestjs/common';
import { CatalogueService } from '../../../catalogue';
import { DAY_MS, publicCatalogue } from '../../../kernel';
import { isGatewayPath, Settings } from '../../../platform';
import { Access } from '../../../web';
import { references } from '../documents/links';
import { legalDocuments } from '../legal/legal-library';
import { publicModels } from '../public-models';

const plainText = 'text/plain; charset=utf-8';

/** Public pages, in recommended reading order. */
const pages = [
  '/',
  '/features',
  '/models-public',
  '/pricing',
  '/guide',
  '/api-docs',
  '/api-docs/errors',
  '/api-docs/try',
  '/developers',
  '/controls',
  '/security',
  '/certifications',
  ...[...references].map((name) => `/developers/${name}`),
  ...legalDocuments.map((name) => `/legal/${name}`),
];

@Controller()
export class WellKnownController {
  constructor(
    private readonly settings: Settings,
    private readonly catalogue: CatalogueService,
  ) {}

  /** Excludes account pages from indexing. */
  @Get('/robots.txt')
  @Access.anyone()
  @Header('content-type', plainText)
  @Header('cache-control', 'public, max-age=3600')
  robots(): string {
    const disallowed = ['/dashboard', '/account', '/api/', '/auth/', '/invite/', '/v1/'];
    return [
      'User-agent: *',
      ...disallowed.map((path) => `Disallow: ${path}`),
      '',
      `Sitemap: ${this.settings.baseUrl}/sitemap.xml`,
      '',
    ].join('\n');
  }

  @Get('/sitemap.xml')
  @Access.anyone()
  @Header('content-type', 'application/xml; charset=utf-8')
  @Header('cache-control', 'public, max-age=3600')
  sitemap(): string {
    const urls = pages.map((path) => `  <url><loc>${this.settings.baseUrl}${path}</loc></url>`);
    return [
      '<?xml version="1.0" encoding="UTF-8"?>',
      '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">',
      ...urls,
      '</urlset>',
      '',
    ].join('\n');
  }

  /** See RFC 9116. Expires in less than a year, so that a stale copy is not trusted forever. */
  @Get('/.well-known/security.txt')
  @Access.anyone()
  @Header('content-type', plainText)
  @Header('cache-control', 'public, max-age=3600')
  security(): string {
    const { baseUrl, securityContact } = this.settings;
    const contact =
      securityContact === undefined
        ? `${baseUrl}/legal/security`
        : securityContact.startsWith('https:')
          ? securityContact
          : `mailto:${securityContact}`;
    const expires = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS + 180 * DAY_MS).toISOString();
    return [
      `Contact: ${contact}`,
      `Expires: ${expires}`,
      'Preferred-Languages: en',
      `Canonical: ${baseUrl}/.well-known/security.txt`,
      `Policy: ${baseUrl}/legal/security`,
      '',
    ].join('\n');
  }

  /** Summarises the site in a page of Markdown, for language models that help users. */
  @Get('/llms.txt')
  @Access.anyone()
  @Header('content-type', plainText)
  @Header('cache-control', 'public, max-age=300')
  languageModels(): string {
    const { baseUrl, brandName, gatewayUrl = baseUrl } = this.settings;
    const link = (path: string, title: string, about: string): string =>
      `- [${title}](${isGatewayPath(path) ? gatewayUrl : baseUrl}${path}): ${about}`;
    const models = publicModels(this.catalogue).filter(({ state }) => state === 'active');
    return [
      `# ${brandName}`,
      '',
      `> A model gateway. One key and one address, ${gatewayUrl}, for the models of several suppliers; OpenAI-style clients use ${gatewayUrl}/v1, messages-style clients ${gatewayUrl}.`,
      '',
      'Send the key as `Authorization: Bearer <key>`; `/v1/messages` also takes `x-api-key`. On an error read `error.code`, never the text; wait as long as `Retry-After` says.',
      '',
      '## Documentation',
      '',
      link('/guide', 'Guide', 'first request and the settings of clients'),
      link('/v1/openapi.json', 'OpenAPI of the gateway', 'every route below /v1'),
      link('/openapi.json', 'OpenAPI of the portal', 'pages, accounts, billing, administration'),
      link('/v1/errors', 'Error codes', `${publicCatalogue().length} codes with status, class and next step`),
      link('/controls', 'Limits and controls', 'each limit, where it is enforced, its error'),
      ...[...references].map((name) => link(`/developers/${name}`, name, 'reference text')),
      '',
      '## Models',
      '',
      link('/models-public?format=json', 'Models and prices', 'as JSON, in force now'),
      ...models.slice(0, 50).map(({ id, kind, displayName }) => `- \`${id}\`: ${displayName} (${kind})`),
      '',
    ].join('\n');
  }
}
