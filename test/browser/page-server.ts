import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import express from 'express';
import {
  assetBase,
  createViewEngine,
  defaultViewContext,
  galleryModel,
  requestSnippets,
  vendorFiles,
  type OutboxModel,
  type ViewContext,
} from '../../src/platform/views';
import { securityHeaders } from '../../src/web/security-headers';

export interface PageServer {
  url: string;
  stop(): Promise<void>;
}

const folder = (name: string): string => join(__dirname, '..', '..', name);

const outbox: OutboxModel = {
  mails: [
    {
      href: '/dev/outbox?id=2',
      subject: 'Confirm your address',
      recipient: 'anna@acme.example',
      sentAt: '2026-11-20T12:04:51Z',
      current: true,
    },
    {
      href: '/dev/outbox?id=1',
      subject: 'You are invited to Acme GmbH',
      recipient: 'bob@acme.example',
      sentAt: '2026-11-20T11:58:02Z',
    },
  ],
  selected: {
    subject: 'Confirm your address',
    recipient: 'anna@acme.example',
    sentAt: '2026-11-20T12:04:51Z',
    text: 'Hello Anna,\n\nplease open this address to confirm that it is yours:\nhttp://127.0.0.1:3000/verify-email?token=example\n\n<script>never runs</script>',
    links: ['http://127.0.0.1:3000/verify-email?token=example'],
  },
};

const fault = {
  status: 402,
  code: 'budget_exceeded',
  humanMessage: 'The budget of this key is used up until it resets.',
  actionClass: 'F',
  retryAfterSeconds: 20,
};

/** The pages that need no data, behind the product's own policy and nothing else of the product. */
export async function startPageServer(): Promise<PageServer> {
  const application = express();
  const engine = await createViewEngine({
    viewsFolder: folder('views'),
    publicFolder: folder('public'),
    localesFolder: folder('locales'),
    cache: true,
    brandName: 'Switchboard',
  });
  engine.attach(application);
  application.use(securityHeaders);
  for (const [name, path] of vendorFiles) {
    application.get(assetBase + name, (_request, response) => response.sendFile(path));
  }
  application.use(assetBase, express.static(folder('public')));

  const server = createServer(application);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const requestId = '0193a4c2-7be1-7c30-9f15-2d4b8c61e07a';
  const snippets = requestSnippets({
    ...{
      id: 'first-request-code',
      label: 'Languages',
      baseUrl: url,
      key: '$SVC_API_KEY',
      model: 'claude-sonnet',
    },
  });
  const pages: Record<string, [view: string, model: object]> = {
    '/': ['pages/public/home', { snippets }],
    '/dev/components': ['pages/dev/components', galleryModel(url)],
    '/dev/outbox': ['pages/dev/outbox', outbox],
    '/dev/outbox/empty': ['pages/dev/outbox', { mails: [] }],
    '/fault': ['errors/error', { ...fault, requestId }],
    '/absent': ['errors/not-found', {}],
  };
  for (const [path, [view, model]] of Object.entries(pages)) {
    application.get(path, (request, response) => {
      const viewContext: ViewContext = defaultViewContext({ path, requestId, baseUrl: url });
      response.render(view, { ...model, viewContext });
    });
  }
  return {
    url,
    stop: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()));
        server.closeAllConnections();
      }),
  };
}
