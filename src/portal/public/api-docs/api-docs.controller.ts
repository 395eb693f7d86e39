import { Controller, Get, Header, Req } from '@nestjs/common';
import { CatalogueService } from '../../../catalogue';
import { Settings } from '../../../platform';
import { Access, type HttpRequest, type OpenApiDocument, Page, PageRenderer } from '../../../web';
import { publicModels } from '../public-models';
import { ApiDescriptions } from './api-descriptions';
import { apiReference, operationRows } from './reference';

const json = 'application/json; charset=utf-8';
const caching = 'public, max-age=300';

/** API documentation as pages and as OpenAPI, generated from the same description. */
@Controller()
export class ApiDocsController {
  constructor(
    private readonly descriptions: ApiDescriptions,
    private readonly catalogue: CatalogueService,
    private readonly pages: PageRenderer,
    private readonly settings: Settings,
  ) {}

  @Page('/api-docs', 'pages/public/api-docs', Access.anyone())
  docs(@Req() request: HttpRequest) {
    const { baseUrl } = this.pages.portalOf(request);
    const { gatewayUrl = '' } = this.settings;
    return {
      baseUrl,
      openApi: `${gatewayUrl}/v1/openapi.json`,
      tags: apiReference(this.descriptions.gateway, publicModels(this.catalogue), baseUrl),
      portal: operationRows(this.descriptions.portal),
    };
  }

  @Page('/api-docs/try', 'pages/public/try', Access.anyone())
  try() {
    // Scripts of the portal can only call its own origin.
    return { gateway: this.settings.gatewayUrl === undefined };
  }

  @Get('/openapi.json')
  @Access.anyone()
  @Header('content-type', json)
  @Header('cache-control', caching)
  portal(): OpenApiDocument {
    return this.descriptions.portal;
  }
}
