"""Everything around the loop (`scirep_core.training.loop`): what is trained on, how, what comes of it.

config        the settings of one training, from a file or a chapter's parameters       SciRepEval 5, appendix D
data          training sets as token ids and targets                                     SciRepEval 3, 4.1
samples       the same of the small real samples                       published   of a published tasks_config.json
optimisation, processes, checkpoint                        the loop's optimiser, torchrun, and stopping and going on
base          the small base of the embedded literature: word pieces, PPMI vectors, citation triplets
variants      the rows of the papers' tables as data                   models      the trained model of each, made once
efficiency    what each way of conditioning costs                                        SciRepEval Table 4
"""
