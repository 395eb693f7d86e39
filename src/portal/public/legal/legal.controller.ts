import { Controller, Query, Req } from '@nestjs/common';
import { fault } from '../../../kernel';
import { Access, type HttpRequest, localeOf, Page, pathOf } from '../../../web';
import { renderMarkdown } from '../documents/markdown';
import { legalDocuments, LegalLibrary } from './legal-library';
import { LegalQuery } from './legal.dto';

/** Placeholder that the operator has to fill in; `doctor` lists texts that still have one. */
const PLACEHOLDER = /\*{0,2}\[OPERATOR:[^\]]*\]\*{0,2}/g;
/** English only, like the templates. */
const NOT_STATED = '(not yet stated by the operator)';

@Controller()
export class LegalController {
  constructor(private readonly library: LegalLibrary) {}

  @Page(legalDocuments.map((name) => `/legal/${name}`), 'pages/public/document', Access.anyone())
  legal(@Req() request: HttpRequest, @Query() { version }: LegalQuery) {
    const path = pathOf(request);
    const name = legalDocuments.find((known) => path === `/legal/${known}`);
    const legalText = name === undefined ? undefined : this.library.find(name, localeOf(request), version);
    if (name === undefined || legalText === undefined) throw fault('not_found');
    const versions = this.library.versions(name);
    const { text, language, ...metadata } = legalText;
    return {
      path,
      titleKey: `public.link.${path}`,
      language,
      ...renderMarkdown(text.replaceAll(PLACEHOLDER, NOT_STATED), { copyLabel: 'Copy' }),
      legal: {
        ...metadata,
        language,
        isOld: !versions.some((other) => other.isCurrent && other.version === legalText.version),
        versions:
          versions.length < 2
            ? []
            : versions.map((other) => ({ ...other, href: `${path}?version=${other.version}` })),
      },
    };
  }
}
