import { noticeTopics, type NoticeTopic } from '../../identity';
import { ArrayMaxSize, IsArray, IsIn, WrapInList } from '../../web';

/** Stands for an empty selection, because browsers do not send unchecked boxes. */
const NONE = 'none';

export class NoticesForm {
  /** Topics the user wants notices about; all others are muted. */
  @WrapInList()
  @IsArray()
  @ArrayMaxSize(20)
  @IsIn([...noticeTopics, NONE], { each: true })
  notices: (NoticeTopic | typeof NONE)[];
}
