import { Controller, Get, Header, Req } from '@nestjs/common';
import { CatalogueService } from '../../../catalogue';
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
  ) {}

  @Page('/api-docs', 'pages/public/api-docs', Access.anyone())
  docs(@Req() request: HttpRequest) {
    const { baseUrl } = this.pages.placeOf(request);
    return {
      baseUrl,
      tags: referenceOf(this.descriptions.of('gateway'), publicModels(this.catalogue), baseUrl),
      portal: rowsOf(this.descriptions.of('portal')),
    };
  }

  @Page('/api-docs/try', 'pages/public/try', Access.anyone())
  try() {
    return {};
  }

  @Get('/v1/openapi.json')
  @Access.anyone()
  @Header('content-type', json)
  @Header('cache-control', caching)
  gateway(): OpenApiDocument {
    return this.descriptions.of('gateway');
  }

  @Get('/openapi.json')
  @Access.anyone()
  @Header('content-type', json)
  @Header('cache-control', caching)
  portal(): OpenApiDocument {
    return this.descriptions.of('portal');
  }
}
