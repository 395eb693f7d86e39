import { Injectable } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { GatewayDescription, isGatewayRoute } from '../../../gateway';
import { Settings } from '../../../platform';
import { openApiDocument, type OpenApiDocument, registeredRoutes, type RegisteredRoute } from '../../../web';

const portalError = {
  type: 'object',
  required: ['code', 'message', 'human_message'],
  properties: {
    code: { type: 'string' },
    message: { type: 'string' },
    human_message: { type: 'string' },
    error: { type: 'string' },
    detail: {
      description: 'On 422: every parameter at fault. Otherwise the text for users.',
      type: ['array', 'string'],
      items: {
        type: 'object',
        properties: { loc: { type: 'array', items: {} }, msg: { type: 'string' }, type: { type: 'string' } },
      },
    },
  },
};

/** OpenAPI 3.1 documents of the gateway and the portal. */
@Injectable()
export class ApiDescriptions {
  private portalDocument: OpenApiDocument | undefined;

  constructor(
    private readonly modules: ModulesContainer,
    private readonly settings: Settings,
    private readonly gatewayDescription: GatewayDescription,
  ) {}

  get gateway(): OpenApiDocument {
    return this.gatewayDescription.document;
  }

  /** Cached, because routes do not change at runtime. */
  get portal(): OpenApiDocument {
    return (this.portalDocument ??= openApiDocument({
      info: {
        title: `${this.settings.brandName} Portal`,
        version: '0.1.0',
        description: 'Pages and data of accounts, billing and administration.',
      },
      serverUrl: this.settings.baseUrl,
      routes: registeredRoutes(this.modules).filter(
        (route) => !isGatewayRoute(route) && !isDevelopmentRoute(route),
      ),
      notesOf: () => ({}),
      components: {
        schemas: { Error: portalError },
        responses: {
          Error: {
            description: 'A code of the catalogue; a browser gets a page.',
            content: {
              'application/json': { schema: { $ref: '#/components/schemas/Error' } },
              'text/html': { schema: { type: 'string' } },
            },
          },
        },
      },
    }));
  }
}

/** Routes that exist in development only. */
const isDevelopmentRoute = ({ path }: RegisteredRoute): boolean => path.startsWith('/dev/');
