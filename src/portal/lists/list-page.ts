export {
  addressOf,
  type ListDescription,
  type ListPageModel,
  listPage,
  periodWords,
  scopeWords,
} from '../../web';
