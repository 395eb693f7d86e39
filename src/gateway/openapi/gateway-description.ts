import { Injectable } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { Settings } from '../../platform';
import { openApiDocument, type OpenApiDocument, registeredRoutes } from '../../web';
import { gatewayComponents } from './components';
import { gatewayNotes, gatewayTags, isGatewayRoute } from './operations';

@Injectable()
export class GatewayDescription {
  private cachedDocument: OpenApiDocument | undefined;

  constructor(
    private readonly modules: ModulesContainer,
    private readonly settings: Settings,
  ) {}

  /** Cached, as routes do not change while the service runs. */
  get document(): OpenApiDocument {
    const { brandName, baseUrl, gatewayUrl = baseUrl } = this.settings;
    return (this.cachedDocument ??= openApiDocument({
      info: {
        title: `${brandName} Gateway`,
        version: '1',
        description: 'Models behind one address. Errors carry a code of GET /v1/errors.',
      },
      serverUrl: gatewayUrl,
      routes: registeredRoutes(this.modules).filter(isGatewayRoute),
      notesOf: gatewayNotes,
      components: gatewayComponents,
      tagOrder: gatewayTags,
    }));
  }
}
