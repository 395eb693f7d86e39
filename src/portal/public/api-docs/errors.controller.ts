import { Controller, Query } from '@nestjs/common';
import { publicCatalogue } from '../../../kernel';
import { IsIn, IsOptional, Access, Page, MatchesFormat } from '../../../web';
import { errorsPath } from '../documents/links';

const classes = ['R', 'B', 'C', 'P', 'F'] as const;

class ErrorsQuery {
  @IsOptional()
  @IsIn(['', ...classes])
  class?: string;

  @IsOptional()
  @MatchesFormat(/^[^\p{Cc}]{0,100}$/u, 'one line of up to 100 characters')
  q?: string;

  /** Only codes that this version can return. */
  @IsOptional()
  @IsIn(['', 'reachable'])
  reach?: string;
}

/** All error codes with their class and next step; `#code` links to one of them. */
@Controller()
export class ErrorPagesController {
  @Page(errorsPath, 'pages/public/errors', Access.anyone())
  errors(@Query() query: ErrorsQuery) {
    const { class: actionClass = '', q = '', reach = '' } = query;
    const terms = q.toLowerCase().trim().split(/\s+/);
    const all = publicCatalogue();
    const codes = all.filter((entry) => {
      const text = `${entry.code} ${entry.status} ${entry.type} ${entry.human_message}`.toLowerCase();
      return (
        (actionClass === '' || entry.action_class === actionClass) &&
        (reach === '' || entry.reach === reach) &&
        terms.every((word) => text.includes(word))
      );
    });
    return {
      codes,
      total: all.length,
      shown: codes.length,
      asked: query,
      classes: classes.map((name) => ({ name, asked: name === actionClass })),
    };
  }
}
