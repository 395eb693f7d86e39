import { Controller, Get, Header, Req } from '@nestjs/common';
import { CatalogueService } from '../../../catalogue';
import { Settings } from '../../../platform';
import { Access, type HttpRequest, type OpenApiDocument, Page, PageRenderer } from '../../../web';
import { publicModels } from '../public-models';
import { Descriptions } from './descriptions';
import { referenceOf, rowsOf } from './reference';

const json = 'application/json; charset=utf-8';
const caching = 'public, max-age=300';

/** The interface, for people and for programs: both are made from one description. */
@Controller()
export class ApiDocsController {
  constructor(
    private readonly descriptions: Descriptions,
    private readonly catalogue: CatalogueService,
    private readonly pages: PageRenderer,
    private readonly settings: Settings,
  ) {}

  @Page('/api-docs', 'pages/public/api-docs', Access.anyone())
  docs(@Req() request: HttpRequest) {
    const { baseUrl } = this.pages.placeOf(request);
    const { gatewayUrl = '' } = this.settings;
    return {
      baseUrl,
      openApi: `${gatewayUrl}/v1/openapi.json`,
      tags: referenceOf(this.descriptions.gateway, publicModels(this.catalogue), baseUrl),
      portal: rowsOf(this.descriptions.portal),
    };
  }

  @Page('/api-docs/try', 'pages/public/try', Access.anyone())
  try() {
    // Scripts of our pages reach no other address.
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
