import { Controller, Param, Req } from '@nestjs/common';
import { fault } from '../../../kernel';
import { Access, type HttpRequest, Page, pathOf } from '../../../web';
import { DocumentLibrary } from './document-library';

const view = 'pages/public/document';
const paths = ['/features', '/security', '/controls', '/certifications', '/developers', '/guide'];

/** What the product is and does, in prose; every claim of it leads to what proves it. */
@Controller()
export class DocumentsController {
  constructor(private readonly library: DocumentLibrary) {}

  @Page(paths, view, Access.anyone())
  document(@Req() request: HttpRequest): object {
    const path = pathOf(request);
    return { path, titleKey: `public.link.${path}`, ...this.library.page(path.slice(1)) };
  }

  /** The reference texts of the product, as they come with this version. */
  @Page('/developers/:name', view, Access.anyone())
  reference(@Param('name') name: string): object {
    const reference = this.library.reference(name);
    if (reference === undefined) throw fault('not_found');
    return {
      path: '/developers',
      crumb: { href: '/developers', label: 'public.link./developers' },
      ...reference,
    };
  }
}
