import { Injectable } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { gatewayComponents, gatewayNotes, gatewayTags, isGatewayRoute } from '../../../gateway';
import { Settings } from '../../../platform';
import { openApiDocument, type OpenApiDocument, registeredRoutes, type RegisteredRoute } from '../../../web';

const portalError = {
  type: 'object',
  required: ['code', 'message', 'human_message'],
  properties: {
    code: { type: 'string' },
    message: { type: 'string' },
    human_message: { type: 'string' },
    error: { type: 'object' },
    detail: {
      description: 'On 422: every parameter at fault.',
      type: 'array',
      items: {
        type: 'object',
        properties: { loc: { type: 'array', items: {} }, msg: { type: 'string' }, type: { type: 'string' } },
      },
    },
  },
};

/** The interface of gateway and portal in OpenAPI 3.1, made from the routes that are registered. */
@Injectable()
export class Descriptions {
  private readonly made = new Map<'gateway' | 'portal', OpenApiDocument>();

  constructor(
    private readonly modules: ModulesContainer,
    private readonly settings: Settings,
  ) {}

  /** Routes do not change while the service runs. */
  of(which: 'gateway' | 'portal'): OpenApiDocument {
    let document = this.made.get(which);
    if (document === undefined) {
      const routes = registeredRoutes(this.modules).filter(
        (route) => isGatewayRoute(route) === (which === 'gateway') && !isForDevelopers(route),
      );
      document = which === 'gateway' ? this.gateway(routes) : this.portal(routes);
      this.made.set(which, document);
    }
    return document;
  }

  private gateway(routes: readonly RegisteredRoute[]): OpenApiDocument {
    return openApiDocument({
      info: {
        title: `${this.settings.brandName} Gateway`,
        version: '1',
        description: 'Models behind one address. Errors carry a code of GET /v1/errors.',
      },
      serverUrl: this.settings.baseUrl,
      routes,
      notesOf: gatewayNotes,
      components: gatewayComponents,
      tagOrder: gatewayTags,
    });
  }

  private portal(routes: readonly RegisteredRoute[]): OpenApiDocument {
    return openApiDocument({
      info: {
        title: `${this.settings.brandName} Portal`,
        version: '0.1.0',
        description: 'Pages and data of accounts, billing and administration.',
      },
      serverUrl: this.settings.baseUrl,
      routes,
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
    });
  }
}

/** These are mounted in development alone. */
const isForDevelopers = ({ path }: RegisteredRoute): boolean => path.startsWith('/dev/');
