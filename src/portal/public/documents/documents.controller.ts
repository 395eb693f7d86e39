import { Controller, Req } from '@nestjs/common';
import { fault } from '../../../kernel';
import { Access, type HttpRequest, Page, PageRenderer, pathOf, PathText } from '../../../web';
import { DocumentLibrary } from './document-library';

const view = 'pages/public/document';
const paths = ['/features', '/security', '/controls', '/certifications', '/developers', '/guide'];

@Controller()
export class DocumentsController {
  constructor(
    private readonly library: DocumentLibrary,
    private readonly pages: PageRenderer,
  ) {}

  @Page(paths, view, Access.anyone())
  document(@Req() request: HttpRequest) {
    const path = pathOf(request);
    const text = this.library.page(path.slice(1), this.pages.portalOf(request));
    return { path, titleKey: `public.link.${path}`, ...text };
  }

  @Page('/developers/:name', view, Access.anyone())
  reference(@PathText('name') name: string) {
    const reference = this.library.reference(name);
    if (reference === undefined) throw fault('not_found');
    return {
      path: '/developers',
      crumb: { href: '/developers', label: 'public.link./developers' },
      ...reference,
    };
  }
}
